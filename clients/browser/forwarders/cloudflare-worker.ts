// Signalbox forwarder for a Cloudflare Worker on the route <your shop>__PATH__/*
//
// It forwards the tag's events to Signalbox and signs the browser's address and user agent.
// The forwarding secret is a secret of the Worker:
//   npx wrangler secret put SIGNALBOX_FORWARDING_SECRET
// Forwarding does not replace consent: the tag still sends nothing without it.

import { forward } from './forward.ts'

const path = '__PATH__'

interface Environment {
  SIGNALBOX_FORWARDING_SECRET?: string
}

const worker = {
  async fetch(request: Request, environment: Environment): Promise<Response> {
    const { pathname } = new URL(request.url)
    // If the route is too broad, requests for the shop's own pages go to the shop.
    const own = ['/events', '/events/batch', '/tag.js']
    if (!own.some(name => pathname === `${path}${name}`)) return fetch(request)
    return forward(request, {
      secret: environment.SIGNALBOX_FORWARDING_SECRET,
      // Cloudflare sets this header and replaces any value from the browser.
      clientIp: request.headers.get('cf-connecting-ip'),
    })
  },
}

export { worker as default }
