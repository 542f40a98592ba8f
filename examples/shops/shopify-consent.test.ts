import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { toConsent } from './order-webhook.ts'

const SCRIPT = readFileSync(join(import.meta.dirname, 'shopify-consent.js'), 'utf8')

/** A storefront with Shopify's Customer Privacy API. Returns what is written into the cart. */
function openStorefront(marketing: string) {
  const carts: Record<string, string>[] = []
  const visitor = { marketing }
  const listeners = new Map<string, () => void>()
  const document = {
    cookie: 'cart=1; _fbp=fb.1.1795258800000.1098115397',
    addEventListener: (name: string, listener: () => void) => listeners.set(name, listener),
  }
  const Shopify = {
    routes: { root: '/en/' },
    customerPrivacy: { currentVisitorConsent: () => visitor },
    loadFeatures: (_features: object[], onLoad: (error?: Error) => void) => onLoad(),
  }
  const fetch = (url: string, { body }: { body: string }) => {
    assert.equal(url, '/en/cart/update.js')
    carts.push(JSON.parse(body).attributes)
  }
  runInNewContext(SCRIPT, { window: { Shopify, document }, fetch })
  const choose = (choice: string) => {
    visitor.marketing = choice
    listeners.get('visitorConsentCollected')?.()
  }
  return { carts, choose }
}

const consentOf = (attributes: Record<string, string> = {}) =>
  toConsent({
    choice: attributes.signalbox_consent || null,
    capturedAt: attributes.signalbox_consent_at || null,
  })

it('notes a choice with its time and, if it is a grant, the cookies of the pixel', () => {
  const { carts, choose } = openStorefront('')
  choose('yes')
  choose('no')
  const [silent, granted, denied] = carts
  assert.deepEqual(silent, {
    signalbox_consent: '',
    signalbox_consent_at: '',
    signalbox_fbp: '',
    signalbox_fbc: '',
  })
  assert.equal(granted?.signalbox_fbp, 'fb.1.1795258800000.1098115397')
  assert.equal(denied?.signalbox_fbp, '')
  assert.deepEqual(consentOf(silent), { advertising: 'unknown', method: 'checkout' })
  assert.deepEqual(consentOf(granted), {
    advertising: 'granted',
    method: 'checkout',
    captured_at: granted?.signalbox_consent_at,
  })
  assert.equal(consentOf(denied), null)
})
