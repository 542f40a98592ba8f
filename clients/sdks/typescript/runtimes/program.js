// For Node.js, Bun and Deno.

import process from 'node:process'
import * as sdk from '@signalbox/sdk'
import { tellStory } from './story.js'

const { SIGNALBOX_TOKEN: token, SIGNALBOX_BASE_URL: baseUrl, CAPTURED_AT: capturedAt } = process.env
console.log(JSON.stringify(await tellStory(sdk, { token, baseUrl, capturedAt })))
