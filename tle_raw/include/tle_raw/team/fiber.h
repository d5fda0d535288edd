// Switching between stacks, and finding the running thread from the stack pointer.
//
// There are no thread-local variables: the code is loaded by a JIT that has none. Every stack is aligned to its size,
// so the record of the thread that runs on it (a slot) lies at a fixed distance from the stack's end.
#ifndef TLE_RAW_TEAM_FIBER_H
#define TLE_RAW_TEAM_FIBER_H

#include <tle_raw/team/abi.h>

namespace tle::team {

constexpr u64 STACK_BYTES = 256 * 1024;
constexpr u64 SLOT_BYTES = 128;

struct Team;
struct Warp;

// The thread that a stack runs. It stands at the stack's upper end.
struct Slot {
  void* stack_pointer;  // where the stack goes on, while it does not run
  Team* team;
  Warp* warp;
  u32 index, lane;  // of the thread
  Slot* next_free;
  u32 site;   // where the thread waits; IDLE of one that the block does not have
  u32 spins;  // steps of a loop that waits for other threads
  // Of the last volatile access: the place, what was found there, and how often before.
  const void* place;
  u32 value, looks;
};
static_assert(sizeof(Slot) <= SLOT_BYTES);
constexpr u32 IDLE = ~0u;

// Slots, and the hot ends of the stacks below them, would all fall into the same few sets of the cache if they lay at
// the same distance from their stack's end: 16 distances spread them.
TLE_INLINE Slot* slot_of_stack(u64 address) {
  const u64 first = address & ~(STACK_BYTES - 1);
  return reinterpret_cast<Slot*>(first + STACK_BYTES - SLOT_BYTES - (first / STACK_BYTES % 16) * 256);
}

// The asm is not volatile and names no memory: in the code of one thread its result never changes, and the compiler
// may keep it. What runs different threads (`thread_main`) reaches them through an opaque call.
TLE_INLINE u64 stack_pointer() {
  u64 value;
#if defined(__x86_64__)
  asm("movq %%rsp, %0" : "=r"(value));
#elif defined(__aarch64__)
  asm("mov %0, sp" : "=r"(value));
#else
#error "the team's threads switch stacks on x86-64 and aarch64 only"
#endif
  return value;
}

TLE_INLINE Slot* self() { return slot_of_stack(stack_pointer()); }

// A load that the compiler may move and merge like arithmetic, for what never changes while a thread runs.
TLE_INLINE u32 constant_u32(const u32& place) {
  u32 value;
#if defined(__x86_64__)
  asm("movl (%1), %0" : "=r"(value) : "r"(&place));
#else
  asm("ldr %w0, [%1]" : "=r"(value) : "r"(&place));
#endif
  return value;
}

template <class T> TLE_INLINE T* constant_pointer(T* const& place) {
  T* value;
#if defined(__x86_64__)
  asm("movq (%1), %0" : "=r"(value) : "r"(&place));
#else
  asm("ldr %0, [%1]" : "=r"(value) : "r"(&place));
#endif
  return value;
}

// Save this stack's place in `from` and go on at `to`. Only callee-saved registers cross; the caller saved the rest.
static __attribute__((naked, noinline)) void tle_team_switch(void** from, void* to) {
#if defined(__x86_64__)
  asm volatile(
      "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tretq");
#else
  asm volatile(
      "sub sp, sp, #160\n\t"
      "stp x19, x20, [sp]\n\tstp x21, x22, [sp, #16]\n\tstp x23, x24, [sp, #32]\n\tstp x25, x26, [sp, #48]\n\t"
      "stp x27, x28, [sp, #64]\n\tstp x29, x30, [sp, #80]\n\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\t"
      "stp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n\t"
      "mov x9, sp\n\tstr x9, [x0]\n\tmov sp, x1\n\t"
      "ldp x19, x20, [sp]\n\tldp x21, x22, [sp, #16]\n\tldp x23, x24, [sp, #32]\n\tldp x25, x26, [sp, #48]\n\t"
      "ldp x27, x28, [sp, #64]\n\tldp x29, x30, [sp, #80]\n\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\t"
      "ldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n\t"
      "add sp, sp, #160\n\tret");
#endif
}

// Make a stack begin with `start` when it is switched to. The zeros end a debugger's walk up the stack.
TLE_INLINE void prepare_stack(Slot* slot, void (*start)()) {
#if defined(__x86_64__)
  constexpr int RETURN = 6, WORDS = 8;  // below it the six saved registers
#else
  constexpr int RETURN = 11, WORDS = 20;  // x30
#endif
  u64* top = reinterpret_cast<u64*>(slot) - WORDS;
  for (int i = 0; i < WORDS; ++i) top[i] = 0;
  top[RETURN] = reinterpret_cast<u64>(start);
  slot->stack_pointer = top;
}

}  // namespace tle::team

#endif  // TLE_RAW_TEAM_FIBER_H
