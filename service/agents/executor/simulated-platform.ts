import type { AdPlatform } from '../policy/ad-platform.ts'
import { changeEntity, readEntities } from './ad-entity-store.ts'

/** The simulated campaigns in the store: nothing here calls a platform. */
export const simulatedPlatform: AdPlatform = { readEntities, changeEntity }
