import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { LoadPlan } from './load-plan.ts'
import { marksOf, purchaseBody } from './purchase-body.ts'

export interface RequestTemplate {
  /** A whole HTTP request. */
  bytes: Buffer
  /** Turns the request into that of another purchase, in place. */
  renew(count: number): void
}

/** Of the same width as what replaces them, and nowhere else in a request. */
const PLACES = { hex: '<hexhex>', digits: '<digit>' }
const CAPTURED_MILLISECONDS_AGO = 3_600_000

/**
 * Renders a request once, so that the generator only writes a few digits into it for each
 * purchase: it shares the machine's cores with the service that it measures.
 */
export function requestTemplate(
  { origin, trackerSecret, mark, bodyBytes = 0 }: LoadPlan,
  variant: number,
): RequestTemplate {
  const capturedAt = new Date(Date.now() - CAPTURED_MILLISECONDS_AGO)
  const purchase = purchaseBody({ ...PLACES, run: mark }, { variant, capturedAt })
  const body = bodyBytes > 0 ? filledBody(purchase, bodyBytes) : JSON.stringify(purchase)
  const bytes = Buffer.from(
    `POST ${BASE_PATH}/events HTTP/1.1\r\nhost: ${new URL(origin).host}\r\n` +
      `authorization: Bearer ${trackerSecret}\r\ncontent-type: application/json\r\n` +
      `user-agent: signalbox-bench\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    'latin1',
  )
  const hexOffsets = offsetsOf(bytes, PLACES.hex)
  const digitOffsets = offsetsOf(bytes, PLACES.digits)
  return {
    bytes,
    renew: count => {
      const { hex, digits } = marksOf(count, mark)
      for (const offset of hexOffsets) bytes.write(hex, offset, 'latin1')
      for (const offset of digitOffsets) bytes.write(digits, offset, 'latin1')
    },
  }
}

/** As many small members as there is room for, which take the most memory when they are read. */
function filledBody(purchase: Record<string, unknown>, bytes: number): string {
  const member = { a: 1, b: 'two', c: [3] }
  const text = (count: number, rest: string) =>
    JSON.stringify({ ...purchase, filler: Array.from({ length: count }, () => member), rest })
  const room = bytes - text(0, '').length
  const count = Math.floor(room / (JSON.stringify(member).length + 1))
  return text(count, 'x'.repeat(bytes - text(count, '').length))
}

function offsetsOf(bytes: Buffer, place: string): number[] {
  const offsets: number[] = []
  for (let at = bytes.indexOf(place); at >= 0; at = bytes.indexOf(place, at + 1)) offsets.push(at)
  return offsets
}
