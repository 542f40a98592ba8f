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

/** Some platforms, such as those of a tracker. */
export type SelectedPlatforms = Pick<PlatformRegistry, 'all' | 'default' | 'names'>

/** The platforms that this process knows, by name. */
export class PlatformRegistry {
  readonly all: readonly Platform[]
  /** Of every plug-in, selected or not. */
  readonly names: ReadonlySet<string>
  /** For a destination that names no platform, and for events of trackers without destinations. */
  readonly default: Platform

  constructor(platforms: readonly Platform[]) {
    const [first] = platforms
    if (!first) throw new Error('a registry needs a platform')
    const names = new Set(platforms.map(({ name }) => name))
    if (names.size < platforms.length) throw new Error('two platforms have one name')
    const marks = new Set(platforms.map(({ identityMark }) => identityMark))
    if (marks.size < platforms.length) throw new Error('two platforms have one identity mark')
    this.all = platforms
    this.names = names
    this.default = first
  }

  /** Null if no plug-in of this process has this name. */
  find(name: string): Platform | null {
    return this.all.find(platform => platform.name === name) ?? null
  }

  /**
   * The platforms with these names that are known here, in their order. The default stays where it
   * is one of them: the version before reads the identity of an event as the default's.
   */
  select(names: Iterable<string>): SelectedPlatforms {
    const all = [...new Set(names)].flatMap(name => this.find(name) ?? [])
    const isDefaultSelected = all.some(({ name }) => name === this.default.name)
    const { names: known } = this
    return { all, default: (isDefaultSelected ? null : all[0]) ?? this.default, names: known }
  }

  /** A registry of the same platforms, each wrapped. */
  map(wrap: (platform: Platform) => Platform): PlatformRegistry {
    return new PlatformRegistry(this.all.map(wrap))
  }
}
