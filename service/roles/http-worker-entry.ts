import { keepCompiledCode, storeCompiledCode } from './compile-cache.ts'

// Before the imports that it is for.
keepCompiledCode()
await import('./http-worker.ts')
storeCompiledCode()
