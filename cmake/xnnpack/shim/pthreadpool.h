/* The one name of pthreadpool that xnnpack.h has in its declarations. */
#pragma once
typedef struct pthreadpool *pthreadpool_t;
