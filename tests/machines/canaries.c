/* The mistakes that a sanitizer must report before its silence says anything: tests/machines/sanitized.py. */
#include <pthread.h>

int beyond(int index) {
    int numbers[4] = {0};
    return numbers[index];
}

int overflow(int number) { return number + 0x7fffffff; }

static int shared;

static void *write_shared(void *number) {
    shared = *(int *)number;
    return NULL;
}

int race(int number) {
    pthread_t one, other;
    pthread_create(&one, NULL, write_shared, &number);
    pthread_create(&other, NULL, write_shared, &number);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return shared;
}
