// Signalbox forwarder for a Cloudflare Worker on the route <your shop>__PATH__/*
//
// It passes the tag's events on to Signalbox and vouches for the browser's address and user agent.
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
    // On a route that is too wide the shop's own pages go on to the shop.
    if (pathname !== `${path}/events` && pathname !== `${path}/tag.js`) return fetch(request)
    return forward(request, {
      secret: environment.SIGNALBOX_FORWARDING_SECRET,
      // Cloudflare sets it itself, whatever the browser sent.
      clientIp: request.headers.get('cf-connecting-ip'),
    })
  },
}

export { worker as default }
