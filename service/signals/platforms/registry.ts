import { AccessTokens } from './access-tokens/client.ts'
import type { Platform } from './platform.ts'
import type { PlugInContext } from './plug-in.ts'
import { PLATFORM_PLUG_INS } from './plug-ins.ts'
import { withRedactedAnswers } from './redact-answers.ts'

/**
 * The clients of all platforms, which are loaded with this file: 70 modules. What needs only names,
 * addresses and settings imports `plug-ins.ts`.
 */
const creators = await Promise.all(PLATFORM_PLUG_INS.map(({ load }) => load()))

export function createPlatforms(context: PlugInContext): PlatformRegistry {
  const platforms = creators.map(create => create(context))
  return new PlatformRegistry(platforms, new AccessTokens(context))
}

/** The platforms at the simulator, with the defaults of their settings. */
export function createSimulatorPlatforms(
  options: Omit<PlugInContext, 'settings'>,
): PlatformRegistry {
  return createPlatforms({ ...options, settings: { pluginValues: {} } })
}

/** The platforms for a process that does not send events. */
export function createOfflinePlatforms(): PlatformRegistry {
  return createSimulatorPlatforms({
    simulatorUrl: null,
    timeoutMilliseconds: 1,
    now: () => new Date(0),
  })
}

/** Some platforms, such as those of a tracker. */
export type SelectedPlatforms = Pick<PlatformRegistry, 'all' | 'default' | 'names'>

/** For platforms that send nothing. */
const NO_CLOCK = { now: () => new Date(0), timeoutMilliseconds: 1 }

/** The platforms that this process knows, by name. */
export class PlatformRegistry {
  readonly all: readonly Platform[]
  /** Of every plug-in, selected or not. */
  readonly names: ReadonlySet<string>
  /** For a destination that names no platform, and for events of trackers without destinations. */
  readonly default: Platform
  /** The minted access tokens of this process. */
  readonly accessTokens: AccessTokens

  constructor(platforms: readonly Platform[], accessTokens = new AccessTokens(NO_CLOCK)) {
    const [first] = platforms
    if (!first) throw new Error('a registry needs a platform')
    const names = new Set(platforms.map(({ name }) => name))
    if (names.size < platforms.length) throw new Error('two platforms have one name')
    const marks = new Set(platforms.map(({ identityMark }) => identityMark))
    if (marks.size < platforms.length) throw new Error('two platforms have one identity mark')
    this.all = platforms.map(withRedactedAnswers)
    this.names = names
    this.default = this.all[0] ?? first
    this.accessTokens = accessTokens
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
    return new PlatformRegistry(this.all.map(wrap), this.accessTokens)
  }
}
