import { enableCodeCache, flushCodeCache } from './compile-cache.ts'

// Before the imports that it is for.
enableCodeCache()
await import('./http-worker.ts')
flushCodeCache()
