// Part of programs with sources that are compiled with -O0. There clang calls these two functions of libstdc++ 12,
// whose library has them for older standards only.
#include <cstddef>
#include <new>

void* allocate(void*, std::size_t size) __asm__("_ZNSaIcE8allocateEm");
void* allocate(void*, std::size_t size) { return ::operator new(size); }
void deallocate(void*, char* memory, std::size_t) __asm__("_ZNSaIcE10deallocateEPcm");
void deallocate(void*, char* memory, std::size_t) { ::operator delete(memory); }
