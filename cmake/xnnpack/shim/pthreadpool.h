/* The only name of pthreadpool in the declarations of xnnpack.h. */
#pragma once
typedef struct pthreadpool *pthreadpool_t;
