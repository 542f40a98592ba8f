/** Where Meta is, and how long to wait for it. */
export interface MetaOptions {
  /** The Graph API's origin, or the simulator's. */
  baseUrl: string
  /** Such as `v26.0`. */
  version: string
  timeoutMilliseconds: number
  /** Tells how far back the counts reach: a day out of reach looks like one without events. */
  now: () => Date
}
