#include "trials.h"

static bool differs(double a, double b) {
    const double far = a > b ? a - b : b - a;
    return far * PSVI_TRIAL_CHANGE > b;
}

static uint32_t look_every(const psvi_trials *trials) {
    if (trials->asking > 0) return 1;
    return trials->kept == PSVI_FIRST_CHOICE ? PSVI_TRIAL_LOOK : PSVI_TRIAL_LOOK_OTHER;
}

bool psvi_is_due(const psvi_trials *trials) {
    if (trials->left > 0) return true;
    return trials->frames >= PSVI_TRIAL_FIRST &&
           (trials->looked == 0 || trials->frames - trials->looked >= look_every(trials));
}

psvi_trial_turn psvi_next_turn(psvi_trials *trials, bool clock_is_free) {
    const bool due = psvi_is_due(trials);
    const uint32_t kept = trials->kept, frame = trials->frames++;
    if (trials->left > 1 || (trials->left == 1 && clock_is_free)) {
        const bool timed = --trials->left == 0;
        return (psvi_trial_turn){1 - kept, timed};
    }
    const bool timed = due && clock_is_free;
    if (timed) trials->looked = frame;
    return (psvi_trial_turn){kept, timed};
}

static bool is_alike(const psvi_trial_sample *a, const psvi_trial_sample *b) {
    return !differs((double)a->boxes, (double)b->boxes) && !differs((double)a->pairs, (double)b->pairs);
}

// Of another scene than the one that was last compared.
static bool is_new(const psvi_trials *trials, const psvi_trial_sample *now) {
    return !trials->compared || !is_alike(now, &trials->last) || differs(now->ms, trials->last.ms);
}

// Whether the time of the kept choice asks for a trial. Another scene always does, except in pauses after vain trials;
// the same scene does from time to time.
static bool asks(psvi_trials *trials, const psvi_trial_sample *now, double least_ms) {
    if (trials->kept == PSVI_FIRST_CHOICE && now->ms <= least_ms) return false;
    if (!is_new(trials, now)) return trials->frames - trials->asked >= trials->age;
    return trials->asking > 0 || !psvi_backoff_waits(&trials->backoff);
}

static void learn_kept(psvi_trials *trials, const psvi_trial_sample *now, double least_ms) {
    if (trials->left > 0) return; // a trial is under way
    const bool first = trials->kept == PSVI_FIRST_CHOICE;
    if (!asks(trials, now, least_ms)) {
        trials->asking = 0;
        return;
    }
    if (!is_alike(now, &trials->least)) trials->asking = 0;
    if (trials->asking++ == 0 || now->ms < trials->least.ms) trials->least = *now;
    if (trials->asking < (first ? PSVI_TRIAL_SURE : 1)) return;
    trials->asking = 0;
    trials->left = first ? PSVI_TRIAL_FRAMES : PSVI_TRIAL_RETURN;
    trials->another = is_new(trials, now);
    trials->last = trials->least;
}

void psvi_learn_time(psvi_trials *trials, const psvi_trial_sample *now, double least_ms) {
    if (now->choice == trials->kept) {
        learn_kept(trials, now, least_ms);
        return;
    }
    if (!is_alike(now, &trials->last)) return; // the scene has changed in between: that says nothing
    const bool faster = now->ms < PSVI_TRIAL_GAIN * trials->last.ms;
    const bool rested = trials->frames - trials->asked >= PSVI_TRIAL_AGE;
    const uint32_t longer = 2 * trials->age < PSVI_TRIAL_OLD ? 2 * trials->age : PSVI_TRIAL_OLD;
    if (trials->compared && !(faster ? rested : !trials->another))
        psvi_backoff_failed(&trials->backoff, 1, PSVI_TRIAL_PAUSE); // in vain, or to and fro
    else
        psvi_backoff_succeeded(&trials->backoff);
    trials->age = faster || trials->another ? PSVI_TRIAL_AGE : longer;
    trials->compared = true;
    trials->asked = trials->frames;
    if (!faster) return;
    trials->kept = now->choice;
    trials->last = *now;
}
