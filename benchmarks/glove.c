/* GloVe as a plain C program: the peer that benchmarks/words.py measures Lexigraph's kernel against.

   glove PAIRS WORDS DIM EPOCHS THREADS

   PAIRS is a binary file of records { int32 row, column; float log_x, f } in random order, held in memory. AdaGrad on
   w, w~ and both biases, threads without locks, one stretch of the pairs each. Prints JSON: seconds of training,
   the mean cost of the last epoch, megabytes. REAL is double, as usual for such programs, or float. */

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef REAL
#define REAL double
#endif
typedef REAL real;
typedef struct { int32_t row, column; float log_x, f; } Pair;

static Pair *pairs;
static long count;
static int dim, threads;
static real *w, *squares;  /* rows of dim + 1 numbers, the bias last: first all words, then all contexts */
static double *costs;
static const real rate = 0.05;
static long words;

static void *train(void *argument) {
    long me = (long)argument, width = dim + 1;
    double cost = 0;
    for (long n = count * me / threads; n < count * (me + 1) / threads; n++) {
        real *a = w + pairs[n].row * width, *b = w + (words + pairs[n].column) * width;
        real *sa = squares + (a - w), *sb = squares + (b - w);
        real error = a[dim] + b[dim] - pairs[n].log_x;
        for (int k = 0; k < dim; k++) error += a[k] * b[k];
        real g = pairs[n].f * error;
        cost += g * error;
        for (int k = 0; k < dim; k++) {
            real ga = g * b[k], gb = g * a[k];
            a[k] -= rate * ga / sqrt(sa[k]);
            b[k] -= rate * gb / sqrt(sb[k]);
            sa[k] += ga * ga;
            sb[k] += gb * gb;
        }
        a[dim] -= rate * g / sqrt(sa[dim]);
        b[dim] -= rate * g / sqrt(sb[dim]);
        sa[dim] += g * g;
        sb[dim] += g * g;
    }
    costs[me] = cost;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "glove PAIRS WORDS DIM EPOCHS THREADS\n"); return 2; }
    words = atol(argv[2]); dim = atoi(argv[3]); threads = atoi(argv[5]);
    FILE *file = fopen(argv[1], "rb");
    if (!file) { perror(argv[1]); return 1; }
    fseek(file, 0, SEEK_END);
    count = ftell(file) / (long)sizeof(Pair);
    rewind(file);
    pairs = malloc(count * sizeof(Pair));
    if (!pairs || fread(pairs, sizeof(Pair), count, file) != (size_t)count) return 1;
    fclose(file);
    long size = 2 * words * (dim + 1);
    w = malloc(size * sizeof(real)); squares = malloc(size * sizeof(real)); costs = malloc(threads * sizeof(double));
    if (!w || !squares || !costs) return 1;
    for (long i = 0; i < size; i++) { w[i] = (rand() / (real)RAND_MAX - 0.5) / (dim + 1); squares[i] = 1; }
    pthread_t *running = malloc(threads * sizeof(pthread_t));
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    double cost = 0;
    for (int epoch = 0; epoch < atoi(argv[4]); epoch++) {
        cost = 0;
        for (long i = 0; i < threads; i++) pthread_create(running + i, NULL, train, (void *)i);
        for (long i = 0; i < threads; i++) { pthread_join(running[i], NULL); cost += costs[i]; }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    char line[256];
    long peak = 0;  /* of this process alone: getrusage would count what its parent had before */
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &peak);
    printf("{\"seconds\": %.4f, \"cost\": %.6f, \"megabytes\": %.1f}\n",
           end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9, cost / count, peak * 1.024e-3);
    return 0;
}
