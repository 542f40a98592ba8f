import { getAdapter } from 'better-auth/db/adapter'
import { requireKnownMethods } from './session-token.ts'

/**
 * A thread that the start runs once: it loads the library's adapter, throws when that has a method
 * which could store session tokens as they are, and ends, so that its 37 MB are free again.
 */
requireKnownMethods(await getAdapter({ database: { db: {}, type: 'postgres', transaction: true } }))
