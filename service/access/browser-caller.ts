/** Who sends with a publishable key: a browser, directly or through somebody else. */
export interface BrowserCaller {
  /** Null: nobody who is trusted stands before us, so nothing is known of the browser. */
  edge: EdgeClient | null
}

/** A browser as a trusted edge saw it. Both may be personal data. */
export interface EdgeClient {
  ipAddress: string | null
  userAgent: string | null
}
