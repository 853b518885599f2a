// Charts as inline SVG.
#include "chart.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 520.0 // as wide as a chart is on most screens, so that letters keep their size
#define HEIGHT 260.0
#define LEFT 62.0
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 40.0
#define MOST_TICKS 40
#define LABEL_WIDTH 38.0 // of a number below the axis

typedef struct axis {
    double low, high;
    bool log;
} axis;

typedef struct chart_frame {
    axis x, y;
} chart_frame;

// --- data -----------------------------------------------------------------------------------------------------------

chart_series *chart_find_series(line_chart *chart, const char *name) {
    for (uint32_t s = 0; s < chart->series_count; ++s)
        if (strcmp(chart->series[s].name, name) == 0) return &chart->series[s];
    if (chart->series_count == CHART_MOST_SERIES) return NULL;
    chart_series *series = &chart->series[chart->series_count];
    series->points = malloc(CHART_MOST_POINTS * sizeof *series->points);
    if (series->points == NULL) return NULL;
    (void)snprintf(series->name, sizeof series->name, "%s", name);
    series->count = 0;
    series->dashed = false;
    series->colour = chart->series_count;
    ++chart->series_count;
    return series;
}

void chart_add_point(chart_series *series, chart_point point) {
    if (series != NULL && series->count < CHART_MOST_POINTS) series->points[series->count++] = point;
}

void chart_free(line_chart *chart) {
    for (uint32_t s = 0; s < chart->series_count; ++s)
        free(chart->series[s].points);
    chart->series_count = 0;
}

// --- scales ---------------------------------------------------------------------------------------------------------

static void widen(axis *range, double value) {
    if (!isfinite(value) || (range->log && value <= 0)) return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

// 0 to 1 within the range.
static double place(const axis *range, double value) {
    const double low = range->log ? log10(range->low) : range->low,
                 high = range->log ? log10(range->high) : range->high;
    const double at = range->log ? log10(fmax(value, range->low)) : value;
    return high > low ? (at - low) / (high - low) : 0.5;
}

static double x_of(const chart_frame *frame, double x) { return LEFT + (WIDTH - LEFT - RIGHT) * place(&frame->x, x); }

static double y_of(const chart_frame *frame, double y) {
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * fmin(1, fmax(0, place(&frame->y, y)));
}

// Steps of 1, 2 or 5 times a power of ten, five or so in a range.
static double tick_step(double width) {
    const double rough = width / 5, power = pow(10, floor(log10(rough))), part = rough / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static uint32_t ticks_of(const axis *range, double ticks[MOST_TICKS]) {
    uint32_t count = 0;
    if (range->log) {
        for (double power = pow(10, floor(log10(range->low))); power <= range->high * 1.0001; power *= 10)
            if (power >= range->low * .9999 && count < MOST_TICKS) ticks[count++] = power;
        if (count >= 2 || range->high <= range->low) return count;
        count = 0; // less than a decade: steps as on a plain scale
    }
    if (range->high <= range->low) return 0;
    const double step = tick_step(range->high - range->low);
    for (double t = ceil(range->low / step) * step; t <= range->high + step * 1e-6 && count < MOST_TICKS; t += step)
        ticks[count++] = t;
    return count;
}

// The top of stacked areas: the sum at each place. One list of x serves all series of such a chart.
static double stack_top(const line_chart *chart, uint32_t point, uint32_t series) {
    double sum = 0;
    for (uint32_t s = 0; s <= series; ++s)
        if (point < chart->series[s].count) sum += chart->series[s].points[point].y;
    return sum;
}

static chart_frame frame_of(const line_chart *chart) {
    chart_frame frame = {{DBL_MAX, -DBL_MAX, chart->log_x}, {DBL_MAX, -DBL_MAX, chart->log_y}};
    for (uint32_t s = 0; s < chart->series_count; ++s)
        for (uint32_t p = 0; p < chart->series[s].count; ++p) {
            const chart_point *point = &chart->series[s].points[p];
            widen(&frame.x, point->x);
            widen(&frame.y, chart->stacked ? stack_top(chart, p, s) : point->low);
            widen(&frame.y, chart->stacked ? stack_top(chart, p, s) : point->high);
        }
    if (!chart->log_y) frame.y.low = 0;
    if (!chart->log_y) frame.y.high *= 1.05;
    if (chart->log_y && frame.y.low > 0) {
        frame.y.low /= 1.3;
        frame.y.high *= 1.3;
    }
    if (frame.y.high <= frame.y.low) frame.y.high = frame.y.low + 1;
    return frame;
}

// --- drawing --------------------------------------------------------------------------------------------------------

void chart_write_text(FILE *out, const char *text) {
    for (; *text != 0; ++text)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
}

static void write_number(FILE *out, double value, bool percent) {
    static const struct {
        double least, unit;
        const char *ending;
    } units[] = {{1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "K"}};
    if (percent) {
        fprintf(out, "%.3g%%", 100 * value);
        return;
    }
    for (size_t u = 0; u < sizeof units / sizeof *units; ++u)
        if (fabs(value) >= units[u].least) {
            fprintf(out, "%.4g%s", value / units[u].unit, units[u].ending);
            return;
        }
    fprintf(out, "%.4g", value);
}

static void write_axes(FILE *out, const line_chart *chart, const chart_frame *frame) {
    double ticks[MOST_TICKS];
    uint32_t count = ticks_of(&frame->y, ticks);
    for (uint32_t t = 0; t < count; ++t) {
        const double y = y_of(frame, ticks[t]);
        fprintf(out, "<path class='grid' d='M%.1f %.1fH%.1f'/><text class='tick' x='%.1f' y='%.1f' text-anchor='end'>",
                LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4);
        write_number(out, ticks[t], chart->percent);
        fputs("</text>\n", out);
    }
    count = ticks_of(&frame->x, ticks);
    double last = -LABEL_WIDTH;
    for (uint32_t t = 0; t < count; ++t) {
        const double x = x_of(frame, ticks[t]);
        fprintf(out, "<path class='grid' d='M%.1f %.1fV%.1f'/>", x, TOP, HEIGHT - BOTTOM);
        if (x - last < LABEL_WIDTH) continue;
        last = x;
        fprintf(out, "<text class='tick' x='%.1f' y='%.1f' text-anchor='middle'>", x, HEIGHT - BOTTOM + 16);
        write_number(out, ticks[t], false);
        fputs("</text>\n", out);
    }
    fprintf(out, "<text class='name' x='%.1f' y='%.1f' text-anchor='middle'>", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6);
    chart_write_text(out, chart->x_name);
    fprintf(out, "</text><text class='name' transform='translate(13 %.1f) rotate(-90)' text-anchor='middle'>",
            (TOP + HEIGHT - BOTTOM) / 2);
    chart_write_text(out, chart->y_name);
    fputs("</text>\n", out);
}

static bool has_band(const chart_series *series) {
    for (uint32_t p = 0; p < series->count; ++p)
        if (series->points[p].high > series->points[p].low) return true;
    return false;
}

static void write_line(FILE *out, const line_chart *chart, const chart_frame *frame, uint32_t s) {
    const chart_series *series = &chart->series[s];
    if (has_band(series)) {
        fprintf(out, "<path class='band c%u' d='", series->colour);
        for (uint32_t p = 0; p < series->count; ++p)
            fprintf(out, "%c%.1f %.1f", p == 0 ? 'M' : 'L', x_of(frame, series->points[p].x),
                    y_of(frame, series->points[p].high));
        for (uint32_t p = series->count; p > 0; --p)
            fprintf(out, "L%.1f %.1f", x_of(frame, series->points[p - 1].x), y_of(frame, series->points[p - 1].low));
        fputs("Z'/>\n", out);
    }
    fprintf(out, "<path class='line%s c%u' d='", series->dashed ? " dash" : "", series->colour);
    for (uint32_t p = 0; p < series->count; ++p)
        fprintf(out, "%c%.1f %.1f", p == 0 ? 'M' : 'L', x_of(frame, series->points[p].x),
                y_of(frame, series->points[p].y));
    fputs("'/>\n", out);
    for (uint32_t p = 0; series->count <= 12 && p < series->count; ++p) {
        fprintf(out, "<circle class='dot c%u' cx='%.1f' cy='%.1f' r='3'><title>", series->colour,
                x_of(frame, series->points[p].x), y_of(frame, series->points[p].y));
        chart_write_text(out, series->name);
        fputs(", ", out);
        write_number(out, series->points[p].x, false);
        fputs(": ", out);
        write_number(out, series->points[p].y, chart->percent);
        fputs("</title></circle>\n", out);
    }
}

static void write_area(FILE *out, const line_chart *chart, const chart_frame *frame, uint32_t s) {
    const chart_series *series = &chart->series[s];
    fprintf(out, "<path class='area c%u' d='", series->colour);
    for (uint32_t p = 0; p < series->count; ++p)
        fprintf(out, "%c%.1f %.1f", p == 0 ? 'M' : 'L', x_of(frame, series->points[p].x),
                y_of(frame, stack_top(chart, p, s)));
    for (uint32_t p = series->count; p > 0; --p)
        fprintf(out, "L%.1f %.1f", x_of(frame, series->points[p - 1].x),
                y_of(frame, s == 0 ? 0 : stack_top(chart, p - 1, s - 1)));
    fputs("Z'><title>", out);
    chart_write_text(out, series->name);
    fputs("</title></path>\n", out);
}

void chart_write(FILE *out, const line_chart *chart) {
    uint32_t points = 0;
    for (uint32_t s = 0; s < chart->series_count; ++s)
        points += chart->series[s].count;
    if (points == 0) return;
    const chart_frame frame = frame_of(chart);
    fputs("<figure><figcaption>", out);
    chart_write_text(out, chart->title);
    fprintf(out, "</figcaption>\n<svg viewBox='0 0 %.0f %.0f' role='img' aria-label=\"", WIDTH, HEIGHT);
    chart_write_text(out, chart->title);
    fputs("\">\n", out);
    write_axes(out, chart, &frame);
    for (uint32_t s = 0; s < chart->series_count; ++s) {
        if (chart->stacked)
            write_area(out, chart, &frame, s);
        else
            write_line(out, chart, &frame, s);
    }
    fputs("</svg>\n<div class='legend'>", out);
    for (uint32_t s = 0; s < chart->series_count; ++s) {
        fprintf(out, "<span><i class='c%u'></i>", chart->series[s].colour);
        chart_write_text(out, chart->series[s].name);
        fputs("</span>\n", out);
    }
    fputs("</div></figure>\n", out);
}
