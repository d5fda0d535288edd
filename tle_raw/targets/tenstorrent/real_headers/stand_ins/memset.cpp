// The start of a kernel clears its variables.
extern "C" void* memset(void* start, int value, __SIZE_TYPE__ count) {
    volatile unsigned char* byte = static_cast<unsigned char*>(start);
    while (count-- != 0) {
        *byte++ = static_cast<unsigned char>(value);
    }
    return start;
}
