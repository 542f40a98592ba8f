import { enableCodeCache, flushCodeCache } from './compile-cache.ts'

// Must run before the imports that it caches.
enableCodeCache()
await import('./http-worker.ts')
flushCodeCache()
