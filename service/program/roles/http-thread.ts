import { useBundledLibraries } from './bundled-libraries.ts'

// The entry of an HTTP worker's thread: what is imported below takes its libraries from bundles.
useBundledLibraries()
await import('./http-worker.ts')
