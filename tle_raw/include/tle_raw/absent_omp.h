// In the place of <omp.h> where nobody has it: classes of host code hold locks, and call what OpenMP 4.5 declares.
// The sizes of the locks are those of GCC's library.
#pragma once

struct omp_lock_t {
  alignas(4) unsigned char held[4];
};
struct omp_nest_lock_t {
  alignas(8) unsigned char held[16];
};
enum omp_sched_t { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 };
enum omp_proc_bind_t {
  omp_proc_bind_false,
  omp_proc_bind_true,
  omp_proc_bind_master,
  omp_proc_bind_close,
  omp_proc_bind_spread
};
enum omp_lock_hint_t {
  omp_lock_hint_none = 0,
  omp_lock_hint_uncontended = 1,
  omp_lock_hint_contended = 2,
  omp_lock_hint_nonspeculative = 4,
  omp_lock_hint_speculative = 8
};

extern "C" {
int omp_get_active_level();
int omp_get_ancestor_thread_num(int);
int omp_get_cancellation();
int omp_get_default_device();
int omp_get_dynamic();
int omp_get_level();
int omp_get_max_active_levels();
int omp_get_max_threads();
int omp_get_nested();
int omp_get_num_devices();
int omp_get_num_procs();
int omp_get_num_teams();
int omp_get_num_threads();
int omp_get_team_num();
int omp_get_team_size(int);
int omp_get_thread_limit();
int omp_get_thread_num();
int omp_in_final();
int omp_in_parallel();
int omp_is_initial_device();
omp_proc_bind_t omp_get_proc_bind();
void omp_get_schedule(omp_sched_t*, int*);
void omp_set_default_device(int);
void omp_set_dynamic(int);
void omp_set_max_active_levels(int);
void omp_set_nested(int);
void omp_set_num_threads(int);
void omp_set_schedule(omp_sched_t, int);
double omp_get_wtick();
double omp_get_wtime();
void omp_init_lock(omp_lock_t*);
void omp_init_lock_with_hint(omp_lock_t*, omp_lock_hint_t);
void omp_destroy_lock(omp_lock_t*);
void omp_set_lock(omp_lock_t*);
void omp_unset_lock(omp_lock_t*);
int omp_test_lock(omp_lock_t*);
void omp_init_nest_lock(omp_nest_lock_t*);
void omp_init_nest_lock_with_hint(omp_nest_lock_t*, omp_lock_hint_t);
void omp_destroy_nest_lock(omp_nest_lock_t*);
void omp_set_nest_lock(omp_nest_lock_t*);
void omp_unset_nest_lock(omp_nest_lock_t*);
int omp_test_nest_lock(omp_nest_lock_t*);
}
