// For workerd. It is bundled with the SDK, as wrangler does it.
import * as sdk from '@signalbox/sdk'
import { tellStory } from './story.js'

// biome-ignore lint/style/noDefaultExport: the form of a Worker
export default {
  async fetch(_request, { SIGNALBOX_TOKEN: token, SIGNALBOX_BASE_URL: baseUrl, CAPTURED_AT }) {
    return Response.json(await tellStory(sdk, { token, baseUrl, capturedAt: CAPTURED_AT }))
  },
}
