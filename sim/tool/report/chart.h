// Charts as inline SVG: lines over a number, areas stacked over a number, bars by a name. Colours are classes of the
// page.
#ifndef PAIRSIEVE_TOOL_CHART_H
#define PAIRSIEVE_TOOL_CHART_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CHART_MOST_SERIES 12
#define CHART_MOST_POINTS 400

typedef struct chart_point {
    double x, y, low, high; // low and high: the band of uncertainty; both y where there is none
} chart_point;

typedef struct chart_series {
    char name[48];
    uint32_t colour;     // class cN of the page; as made: its place in the chart
    chart_point *points; // CHART_MOST_POINTS
    uint32_t count;
    bool dashed; // points of another source
} chart_series;

typedef struct line_chart {
    const char *title, *x_name, *y_name;
    bool log_x, log_y, stacked, percent; // percent: y is a share from 0 to 1
    chart_series series[CHART_MOST_SERIES];
    uint32_t series_count;
} line_chart;

// The series of this name, made where it is new; NULL: there are CHART_MOST_SERIES others, or no memory.
chart_series *chart_find_series(line_chart *chart, const char *name);
void chart_add_point(chart_series *series, chart_point point); // NULL and what is beyond the room: left out
void chart_free(line_chart *chart);

// A figure with title, drawing and legend. Nothing for a chart without points.
void chart_write(FILE *out, const line_chart *chart);

// Text with & < > " as entities.
void chart_write_text(FILE *out, const char *text);

#endif
