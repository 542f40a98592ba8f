import { metaPlatform } from './meta/client.ts'
import type { MetaOptions } from './meta/graph-api.ts'
import type { Platform } from './platform.ts'

/** Options of the plug-ins that come from the settings. */
export type PlatformOptions = MetaOptions

/** One line for each platform. The first one is the default. */
export function createPlatforms(options: PlatformOptions): PlatformRegistry {
  return new PlatformRegistry([metaPlatform(options)])
}

/** No server listens here. Everything that needs no request still works. */
const NO_ADDRESS = 'http://127.0.0.1:9'

/** The platforms for a process that does not send events. */
export function createOfflinePlatforms(): PlatformRegistry {
  return createPlatforms({
    baseUrl: NO_ADDRESS,
    version: 'v0.0',
    timeoutMilliseconds: 1,
    now: () => new Date(0),
  })
}

/** The platforms that this process knows, by name. */
export class PlatformRegistry {
  readonly all: readonly Platform[]
  /**
   * For a destination that names no platform. Its digests of a person are computed for every event,
   * because erasure and withdrawal find people by them.
   */
  readonly default: Platform

  constructor(platforms: readonly Platform[]) {
    const [first] = platforms
    if (!first) throw new Error('a registry needs a platform')
    const names = new Set(platforms.map(({ name }) => name))
    if (names.size < platforms.length) throw new Error('two platforms have one name')
    const marks = new Set(platforms.map(({ identityMark }) => identityMark))
    if (marks.size < platforms.length) throw new Error('two platforms have one identity mark')
    this.all = platforms
    this.default = first
  }

  /** Null if no plug-in of this process has this name. */
  find(name: string): Platform | null {
    return this.all.find(platform => platform.name === name) ?? null
  }

  /** A registry of the same platforms, each wrapped. */
  map(wrap: (platform: Platform) => Platform): PlatformRegistry {
    return new PlatformRegistry(this.all.map(wrap))
  }
}
