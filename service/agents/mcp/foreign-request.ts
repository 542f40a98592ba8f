/** Where a request says it was sent to, and from which page. */
export interface RequestHeads {
  host?: string | undefined
  origin?: string | undefined
}

/** As WHATWG URL writes them. */
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * What is wrong with where a request comes from, as a sentence; null when nothing is. A page that
 * was made to resolve to our address (DNS rebinding) names another Host or sends another Origin
 * than ours (MCP, Streamable HTTP, Security Warning). Only pages send an Origin. In development,
 * where we are at a loopback address ourselves, every name and port of the loopback passes.
 * `welcome` are origins of other pages that an operator trusts.
 */
export function foreignFault(
  { host, origin }: RequestHeads,
  publicOrigin: string,
  welcome: readonly string[],
): string | null {
  const own = new URL(publicOrigin)
  const asked = URL.parse(`http://${host ?? ''}`)
  if (!asked || !(asked.hostname === own.hostname || isNeighbour(asked, own))) {
    return `This server is at ${publicOrigin}; send requests there, with that Host.`
  }
  if (origin === undefined) return null
  const page = URL.parse(origin)
  const isWelcome = page && [own.origin, ...welcome].includes(page.origin)
  if (isWelcome || (page && isNeighbour(page, own))) return null
  return 'Pages of this origin may not use the MCP server; its operator can add it.'
}

function isNeighbour({ hostname }: URL, own: URL): boolean {
  return LOOPBACK_NAMES.has(own.hostname) && LOOPBACK_NAMES.has(hostname)
}
