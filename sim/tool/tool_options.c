// The command line: options, operands, and the help made from the same table.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static void print_option(const tool_option *option) {
    char left[64];
    (void)snprintf(left, sizeof left, "%s%s%s", option->name, option->argument != NULL ? " " : "",
                   option->argument != NULL ? option->argument : "");
    printf("  %-24s %s\n", left, option->help);
}

static int print_help(const tool_command *command) {
    printf("usage: pairsieve %s %s\n\n%s\n", command->name, command->usage, command->summary);
    if (command->details != NULL) printf("\n%s\n", command->details);
    printf("\noptions:\n");
    for (uint32_t i = 0; i < command->option_count; ++i)
        print_option(&command->options[i]);
    print_option(&(tool_option){.name = "--help", .help = "this text"});
    return TOOL_DONE;
}

bool tool_parse_count(const char *text, uint64_t *value) {
    if (text[0] < '0' || text[0] > '9') return false;
    char *rest;
    errno = 0;
    unsigned long long number = strtoull(text, &rest, 10);
    if (errno != 0) return false;
    static const char suffixes[] = "KMG";
    unsigned long long factor = 1;
    for (int i = 0; suffixes[i] != 0; ++i) {
        factor *= 1000;
        if (rest[0] != suffixes[i] && rest[0] != suffixes[i] - 'A' + 'a') continue;
        if (number > UINT64_MAX / factor) return false;
        number *= factor;
        ++rest;
        break;
    }
    *value = number;
    return *rest == 0;
}

static int read_count(const tool_option *option, const char *text) {
    uint64_t value, most = option->most != 0 ? option->most : UINT64_MAX;
    if (tool_parse_count(text, &value) && value >= option->least && value <= most) {
        *(uint64_t *)option->target = value;
        return TOOL_CONTINUE;
    }
    if (option->most == 0)
        return tool_fail(TOOL_REFUSED, "%s %s: a whole number from %llu on is accepted", option->name, text,
                         (unsigned long long)option->least);
    return tool_fail(TOOL_REFUSED, "%s %s: a whole number from %llu to %llu is accepted", option->name, text,
                     (unsigned long long)option->least, (unsigned long long)most);
}

static int read_positive(const tool_option *option, const char *text) {
    char *rest;
    double value = strtod(text, &rest);
    if (rest == text || *rest != 0 || !(value > 0) || isinf(value))
        return tool_fail(TOOL_REFUSED, "%s %s: a number greater than 0 is accepted", option->name, text);
    *(double *)option->target = value;
    return TOOL_CONTINUE;
}

static int read_value(const tool_option *option, const char *text) {
    switch (option->kind) {
    case OPTION_COUNT: return read_count(option, text);
    case OPTION_POSITIVE: return read_positive(option, text);
    case OPTION_TEXT: *(const char **)option->target = text; return TOOL_CONTINUE;
    case OPTION_TWO_TEXTS:
    case OPTION_FLAG: break;
    }
    return tool_fail(TOOL_REFUSED, "%s takes no '=' form", option->name);
}

static const tool_option *find_option(const tool_command *command, const char *word, size_t length) {
    for (uint32_t i = 0; i < command->option_count; ++i)
        if (strlen(command->options[i].name) == length && strncmp(command->options[i].name, word, length) == 0)
            return &command->options[i];
    return NULL;
}

// Reads the option argv[*at] with its arguments and moves *at to the last one.
static int read_option(tool_command *command, int argc, char **argv, int *at) {
    const char *word = argv[*at], *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const tool_option *option = find_option(command, word, length);
    if (option == NULL)
        return tool_fail(TOOL_REFUSED, "unknown option '%s' of '%s'; 'pairsieve %s --help' names them all", word,
                         command->name, command->name);
    if (option->given != NULL) *option->given = true;
    if (equals != NULL) return read_value(option, equals + 1);
    if (option->kind == OPTION_FLAG) {
        *(bool *)option->target = true;
        return TOOL_CONTINUE;
    }
    int needed = option->kind == OPTION_TWO_TEXTS ? 2 : 1;
    if (*at + needed >= argc) return tool_fail(TOOL_REFUSED, "%s needs %s", option->name, option->argument);
    if (option->kind == OPTION_TWO_TEXTS) {
        ((const char **)option->target)[0] = argv[*at + 1];
        ((const char **)option->target)[1] = argv[*at + 2];
        *at += 2;
        return TOOL_CONTINUE;
    }
    return read_value(option, argv[++*at]);
}

int tool_parse_options(tool_command *command, int argc, char **argv) {
    bool only_operands = false;
    command->operand_count = 0;
    for (int i = 0; i < argc; ++i) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            return print_help(command);
        } else if (!only_operands && word[0] == '-' && word[1] != 0) {
            int code = read_option(command, argc, argv, &i);
            if (code != TOOL_CONTINUE) return code;
        } else if (command->operand_count == command->operand_room) {
            return tool_fail(TOOL_REFUSED, "'%s' is one argument too many; usage: pairsieve %s %s", word, command->name,
                             command->usage);
        } else {
            command->operands[command->operand_count++] = word;
        }
    }
    if (command->operand_needed != NULL && command->operand_count == 0)
        return tool_fail(TOOL_REFUSED, "%s needs %s; usage: pairsieve %s %s", command->name, command->operand_needed,
                         command->name, command->usage);
    return TOOL_CONTINUE;
}

int tool_choose(const char *option, const char *word, const char *const *names) {
    char accepted[256] = "";
    for (int i = 0; names[i] != NULL; ++i) {
        if (strcmp(names[i], word) == 0) return i;
        size_t used = strlen(accepted);
        (void)snprintf(accepted + used, sizeof accepted - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    tool_fail(TOOL_REFUSED, "%s %s is not known; accepted: %s", option, word, accepted);
    return -1;
}
