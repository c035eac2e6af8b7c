/* Threads that need no interpreter, for one job at a time.

   A job is a range of numbers. Everyone who works on it has a part of its own, of which he takes a share, then the next
   one, and then shares of the others' parts. The thread that has the job begins at once. The others join when they are
   awake, so that waking them costs nobody time that he waits for, and a processor that is busy with something else holds
   nobody up. No lock is held while there is work: who waits for one may sleep, and waking takes long. */
#define _GNU_SOURCE /* for CPU_SET */
#include "threads.h"

#ifdef HAS_THREADS
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#define MOST_WORKERS 255
/* How often a worker looks for the next job before it sleeps: for about 0.2 ms, about what waking it can take. */
#define LOOKS 500
#define PAUSES 16
/* A job that follows another one so soon, in ns, has the workers waked, however small it is: more will follow. */
#define SOON 100000

#if defined(__x86_64__) || defined(__i386__)
#define pause_processor() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define pause_processor() __asm__ __volatile__("yield")
#else
#define pause_processor() ((void)0)
#endif

/* -- the job: only who has it writes this, while nobody has joined ------------------------------------------- */

static Work work;
static void *argument;
static Py_ssize_t share;
static int processor; /* that of the thread which has it */
/* For each who works on it, what is next in his part, and where that ends. Each in lines of the cache of its own. */
static struct {
    Py_ssize_t next, end;
    char rest[112];
} parts[1 + MOST_WORKERS];
static int part_count;

/* -- who works: read and written by __atomic_* --------------------------------------------------------------- */

/* The number of the last job, and, in the lowest byte, how many may still join it. */
static uint64_t ticket;
static int busy;    /* whether there is a job */
static int running; /* how many have joined it, or try to */
static int sleepers, caller_sleeps;

static int workers;        /* how many there are; only who has the job looks */
static int64_t last_ended; /* the time; likewise */

/* Held by who goes to sleep, and by who wakes him. */
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;

/* Between two looks. The processor is not offered to others: the scheduler would give it back milliseconds later. */
static void rest(void) {
    for (int i = 0; i < PAUSES; i++) pause_processor();
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Work on shares of one's own part, then on those of the others' until none is left. In the next job one has the same part,
   which then is in the cache. */
static void take_shares(int own) {
    for (int i = 0; i < part_count; i++) {
        int part = (own + i) % part_count;
        for (;;) {
            Py_ssize_t begin = __atomic_fetch_add(&parts[part].next, share, __ATOMIC_RELAXED), end = parts[part].end;
            if (begin >= end) break;
            work(argument, begin, begin + share < end ? begin + share : end);
        }
    }
}

/* Parts of whole shares, that are about equal. */
static void make_parts(Py_ssize_t size, int count) {
    Py_ssize_t shares = (size + share - 1) / share;
    if (count > shares) count = (int)shares;
    for (int i = 0; i < count; i++) {
        parts[i].next = shares * i / count * share;
        parts[i].end = i + 1 == count ? size : shares * (i + 1) / count * share;
    }
    part_count = count;
}

#ifdef __linux__
static int this_processor(void) { return sched_getcpu(); }

/* Leave the processor of the thread that has the job. The scheduler of Linux puts who is waked there if the others were
   busy of late, and leaves him there for milliseconds. */
static void leave_processor(int left) {
    cpu_set_t all, others;
    if (sched_getcpu() != left || sched_getaffinity(0, sizeof(all), &all) != 0) return;
    others = all;
    CPU_CLR(left, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof(others), &others) == 0) {
        sched_setaffinity(0, sizeof(all), &all);
    }
}
#else
static int this_processor(void) { return 0; }
static void leave_processor(int Py_UNUSED(left)) {}
#endif

/* -- workers ------------------------------------------------------------------------------------------------- */

/* The part of the job that a worker gets, or 0 where nobody may join it any more. */
static int join(uint64_t found) {
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST); /* first: who has the job waits for those who try */
    while (found & 0xff) {
        if (__atomic_compare_exchange_n(&ticket, &found, found - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            return (int)(found & 0xff);
        }
    }
    return 0;
}

static void part(void) {
    if (__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST) > 0 || !__atomic_load_n(&caller_sleeps, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&bed);
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&bed);
}

/* The ticket of a job after the one that was seen; until there is one, look for it, then sleep. */
static uint64_t next_job(uint64_t seen) {
    uint64_t found = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST);
    for (int i = 0; i < LOOKS && found >> 8 == seen; i++) {
        rest();
        found = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST);
    }
    if (found >> 8 != seen) return found;
    pthread_mutex_lock(&bed);
    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    while ((found = __atomic_load_n(&ticket, __ATOMIC_SEQ_CST)) >> 8 == seen) pthread_cond_wait(&wake, &bed);
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&bed);
    return found;
}

static void *work_for_ever(void *Py_UNUSED(nothing)) {
    for (uint64_t seen = 0;;) {
        uint64_t found = next_job(seen);
        int own = join(found);
        if (own) leave_processor(processor);
        if (own) take_shares(own % part_count);
        part();
        seen = found >> 8;
    }
    return NULL;
}

/* A worker more, which no signal interrupts: those are for Python's threads. Whether there is one. */
static int add_worker(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return 0;
    int failed = pthread_create(&thread, NULL, work_for_ever, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) pthread_detach(thread);
    return !failed;
}

/* -- who has a job ------------------------------------------------------------------------------------------- */

/* Say that there is a job for so many workers, and wake so many that sleep. */
static void publish(int places, int waked) {
    uint64_t number = (__atomic_load_n(&ticket, __ATOMIC_RELAXED) >> 8) + 1;
    __atomic_store_n(&ticket, number << 8 | (uint64_t)places, __ATOMIC_SEQ_CST);
    if (!waked || !__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST)) return;
    pthread_mutex_lock(&bed);
    for (int i = 0; i < waked; i++) pthread_cond_signal(&wake);
    pthread_mutex_unlock(&bed);
}

/* Nobody joins any more; wait for those who have. */
static void finish(void) {
    __atomic_fetch_and(&ticket, ~UINT64_C(0xff), __ATOMIC_SEQ_CST);
    for (int i = 0; i < LOOKS && __atomic_load_n(&running, __ATOMIC_SEQ_CST) > 0; i++) rest();
    if (__atomic_load_n(&running, __ATOMIC_SEQ_CST) == 0) return;
    pthread_mutex_lock(&bed);
    __atomic_store_n(&caller_sleeps, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) > 0) pthread_cond_wait(&done, &bed);
    __atomic_store_n(&caller_sleeps, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&bed);
}

/* The same, by who has the job. */
static void share_out(Work function, void *with, Py_ssize_t size, Py_ssize_t each, int helpers, int wakes) {
    wakes = wakes || now() - last_ended < SOON;
    while (wakes && workers < helpers && add_worker()) workers++;
    int awake = workers - __atomic_load_n(&sleepers, __ATOMIC_SEQ_CST);
    int places = workers < helpers ? workers : helpers;
    if (!wakes && awake < places) places = awake;
    if (places > 0) {
        work = function, argument = with, share = each, processor = this_processor();
        make_parts(size, 1 + places);
        publish(places, places - awake);
        take_shares(0);
        finish();
    } else {
        function(with, 0, size);
    }
    last_ended = now();
}

void in_threads(Work function, void *with, Py_ssize_t size, Py_ssize_t each, int threads, int wakes) {
    int helpers = threads - 1 < MOST_WORKERS ? threads - 1 : MOST_WORKERS, idle = 0;
    if (size <= each || helpers < 1 ||
        !__atomic_compare_exchange_n(&busy, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        function(with, 0, size);
        return;
    }
    share_out(function, with, size, each, helpers, wakes);
    __atomic_store_n(&busy, 0, __ATOMIC_SEQ_CST);
}

/* A child process has none of its parent's threads, and what they held is free. */
static void after_fork(void) {
    pthread_mutex_init(&bed, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&done, NULL);
    ticket &= ~UINT64_C(0xff);
    busy = running = workers = sleepers = caller_sleeps = 0;
}

int threads_import(void) { return pthread_atfork(NULL, NULL, after_fork) == 0 ? 0 : -1; }
#endif
