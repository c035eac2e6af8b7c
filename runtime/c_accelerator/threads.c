/* Threads that need no interpreter, for one job at a time.

   A job is a range of numbers; whoever works on it takes a share of the numbers, then the next one, until none is left.
   The thread that has a job begins at once. The others join when they are awake, so that waking them costs nobody time
   that he waits for, and a processor that is busy with something else holds nobody up. */
#include "threads.h"

#ifdef HAS_THREADS
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define MOST_WORKERS 255
/* How often a worker looks for the next job before it sleeps: for about 0.1 ms, which waking it takes too. */
#define LOOKS 200
#define PAUSES 16

#if defined(__x86_64__) || defined(__i386__)
#define pause_processor() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define pause_processor() __asm__ __volatile__("yield")
#else
#define pause_processor() ((void)0)
#endif

/* Between two looks: whoever else has something to do, as a thread of BLAS, has the processor first. */
static void rest(void) {
    for (int i = 0; i < PAUSES; i++) pause_processor();
    sched_yield();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
/* What is read while the lock is not held is read and written by __atomic_*. */
static unsigned long number;                 /* of the last job */
static int busy, places, running;            /* whether there is a job; who may still join it; who has */
static int workers, sleepers, caller_sleeps; /* how many there are, and are asleep */
static Work work;
static void *argument;
static Py_ssize_t count, share, next;

/* Work on shares until none is left. */
static void take_shares(void) {
    for (;;) {
        Py_ssize_t begin = __atomic_fetch_add(&next, share, __ATOMIC_RELAXED);
        if (begin >= count) return;
        work(argument, begin, begin + share < count ? begin + share : count);
    }
}

static void *work_for_ever(void *Py_UNUSED(nothing)) {
    unsigned long seen = 0;
    for (;;) {
        for (int i = 0; i < LOOKS && __atomic_load_n(&number, __ATOMIC_RELAXED) == seen; i++) rest();
        pthread_mutex_lock(&lock);
        while (number == seen) {
            sleepers++;
            pthread_cond_wait(&wake, &lock);
            sleepers--;
        }
        seen = number;
        if (places > 0) {
            places--;
            running++;
            pthread_mutex_unlock(&lock);
            take_shares();
            pthread_mutex_lock(&lock);
            __atomic_store_n(&running, running - 1, __ATOMIC_RELEASE);
            if (running == 0 && caller_sleeps) pthread_cond_signal(&done);
        }
        pthread_mutex_unlock(&lock);
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

/* Say that there is a job; whether this caller has it, for another one's may be going on. */
static int begin_job(Work function, void *with, Py_ssize_t size, Py_ssize_t each, int helpers, int wakes) {
    pthread_mutex_lock(&lock);
    int awake = workers - sleepers, free = !busy && (wakes || awake > 0);
    if (free) {
        if (helpers > MOST_WORKERS) helpers = MOST_WORKERS;
        while (wakes && workers < helpers && add_worker()) workers++;
        busy = 1, places = helpers, running = 0;
        work = function, argument = with, count = size, share = each, next = 0;
        __atomic_store_n(&number, number + 1, __ATOMIC_RELAXED);
        for (int i = awake; wakes && i < helpers && i < workers; i++) pthread_cond_signal(&wake);
    }
    pthread_mutex_unlock(&lock);
    return free;
}

/* Nobody joins any more; wait for those who have. */
static void end_job(void) {
    pthread_mutex_lock(&lock);
    places = 0;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < LOOKS && __atomic_load_n(&running, __ATOMIC_ACQUIRE) > 0; i++) rest();
    pthread_mutex_lock(&lock);
    while (running > 0) {
        caller_sleeps = 1;
        pthread_cond_wait(&done, &lock);
        caller_sleeps = 0;
    }
    busy = 0;
    pthread_mutex_unlock(&lock);
}

void in_threads(Work function, void *with, Py_ssize_t size, Py_ssize_t each, int threads, int wakes) {
    if (size <= each || threads < 2 || !begin_job(function, with, size, each, threads - 1, wakes)) {
        function(with, 0, size);
        return;
    }
    take_shares();
    end_job();
}

/* A child process has none of its parent's threads, and what they held is free. */
static void after_fork(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wake, NULL);
    pthread_cond_init(&done, NULL);
    busy = places = running = workers = sleepers = caller_sleeps = 0;
}

int threads_import(void) { return pthread_atfork(NULL, NULL, after_fork) == 0 ? 0 : -1; }
#endif
