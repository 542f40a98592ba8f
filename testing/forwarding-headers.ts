import { createHmac, hash } from 'node:crypto'

export interface ForwardedRequest {
  secret: string
  body: string | Uint8Array
  at: Date
  clientIp?: string
  userAgent?: string
}

/** The headers of a forwarder, written down from the protocol and not from our code. */
export function forwardingHeaders(request: ForwardedRequest): Record<string, string> {
  const { secret, body, at, clientIp = '', userAgent = '' } = request
  const forwardedAt = String(Math.floor(at.getTime() / 1_000))
  const text = `${forwardedAt}\n${clientIp}\n${userAgent}\n`
  const signed = Buffer.concat([Buffer.from(text), Buffer.from(body)])
  const key = hash('sha256', secret, 'buffer')
  return {
    ...(clientIp === '' ? {} : { 'X-Signalbox-Client-Ip': clientIp }),
    ...(userAgent === '' ? {} : { 'X-Signalbox-Client-User-Agent': userAgent }),
    'X-Signalbox-Forwarded-At': forwardedAt,
    'X-Signalbox-Forwarding-Signature': createHmac('sha256', key).update(signed).digest('hex'),
  }
}
