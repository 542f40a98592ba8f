// Signalbox forwarder for Next.js: save it as app__PATH__/[file]/route.ts
//
// It passes the tag's events on to Signalbox and vouches for the browser's user agent, and for its
// address when SIGNALBOX_CLIENT_IP_HEADER names the header in which the host in front of Next.js
// puts it: x-real-ip on Vercel. Name no header that a browser can set; without one there is no
// address, which is better than a wrong one.
// The forwarding secret stands in the environment as SIGNALBOX_FORWARDING_SECRET.
// Forwarding does not replace consent: the tag still sends nothing without it.

import { forward } from './forward.ts'

export const dynamic = 'force-dynamic'

export async function POST(request: Request): Promise<Response> {
  return forward(request, {
    secret: process.env.SIGNALBOX_FORWARDING_SECRET,
    clientIp: clientIp(request),
  })
}

// Next.js itself answers 405 to every other method.
export { POST as GET, POST as OPTIONS }

function clientIp(request: Request): string | null {
  const header = process.env.SIGNALBOX_CLIENT_IP_HEADER
  const address = header ? request.headers.get(header) : null
  // A list has been appended to on its way: nobody here knows which entry to trust.
  return address?.includes(',') ? null : address
}
