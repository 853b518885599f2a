// Checks of a status together with what its sentence must say.
#ifndef EXPECT_H
#define EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pairsieve/core.h"

// The call fails with `status`, and the sentence of `context` (NULL: this thread's) names both words.
static inline void expect_failure(psv_status got, psv_status status, const psv_context *context, const char *word,
                                  const char *other_word, const char *call, int line) {
    const char *sentence = psv_last_error(context);
    if (got != status)
        fail_msg("line %d: %s gave %s (%s) instead of %s", line, call, psv_status_name(got), sentence,
                 psv_status_name(status));
    if (strstr(sentence, word) == NULL || strstr(sentence, other_word) == NULL)
        fail_msg("line %d: %s: the sentence «%s» does not name '%s' and '%s'", line, call, sentence, word, other_word);
}

#define EXPECT_FAILURE(call, status, context, word, other_word)                                                        \
    expect_failure(call, status, context, word, other_word, #call, __LINE__)

#define EXPECT_OK(call, context)                                                                                       \
    do {                                                                                                               \
        const psv_status ok_status = (call);                                                                           \
        if (ok_status != PSV_OK)                                                                                       \
            fail_msg("line %d: %s gave %s: %s", __LINE__, #call, psv_status_name(ok_status), psv_last_error(context)); \
    } while (0)

#endif
