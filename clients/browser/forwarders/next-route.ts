// Signalbox forwarder for Next.js: save it as app__PATH__/[...file]/route.ts
//
// It forwards the tag's events to Signalbox and signs the browser's user agent. It also signs the
// address if SIGNALBOX_CLIENT_IP_HEADER names the header that the host in front of Next.js sets,
// such as x-real-ip on Vercel. Do not name a header that a browser can set: no address is better
// than a wrong one.
// Set the forwarding secret as SIGNALBOX_FORWARDING_SECRET in the environment.
// Forwarding does not replace consent: the tag still sends nothing without it.

import { forward } from './forward.ts'

export const dynamic = 'force-dynamic'

export async function POST(request: Request): Promise<Response> {
  return forward(request, {
    secret: process.env.SIGNALBOX_FORWARDING_SECRET,
    clientIp: clientIp(request),
  })
}

// Next.js responds to every other method with 405.
export { POST as GET, POST as OPTIONS }

function clientIp(request: Request): string | null {
  const header = process.env.SIGNALBOX_CLIENT_IP_HEADER
  const address = header ? request.headers.get(header) : null
  // In a list, several proxies have appended addresses, and it is unknown which one to trust.
  return address?.includes(',') ? null : address
}
