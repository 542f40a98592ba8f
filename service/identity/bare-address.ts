import { isIP, SocketAddress } from 'node:net'

/** The longest address with brackets, zone and port stays well below this. */
const addressCharsMax = 100

/**
 * One spelling of an address: no port, brackets or zone, IPv4 inside IPv6 as IPv4, IPv6 in its
 * shortest lower-case form. Null for anything that is not one address.
 */
export function bareAddress(text: string): string | null {
  if (text.length > addressCharsMax) return null
  return canonicalAddress(withoutDecoration(text.trim()))
}

function withoutDecoration(text: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1]
  const withoutPort = inBrackets ?? /^(\d[\d.]*):\d{1,5}$/.exec(text)?.[1] ?? text
  return withoutPort.replace(/%[\w.~-]*$/, '')
}

function canonicalAddress(text: string): string | null {
  switch (isIP(text)) {
    case 4:
      return text
    case 6: {
      const { address } = new SocketAddress({ address: text, family: 'ipv6' })
      const mapped = address.startsWith('::ffff:') ? address.slice(7) : ''
      return isIP(mapped) === 4 ? mapped : address
    }
    default:
      return null
  }
}
