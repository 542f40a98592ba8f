// In the theme: notes in the cart what the visitor chose about advertising. The attributes of the
// cart become the `note_attributes` of the order.
;(() => {
  const { Shopify, document } = window
  const choices = { yes: 'granted', no: 'denied' }

  function readCookie(name) {
    return document.cookie.match(new RegExp(`(?:^|; )${name}=([^;]*)`))?.[1] ?? ''
  }

  function noteConsent() {
    const choice = choices[Shopify.customerPrivacy.currentVisitorConsent().marketing] ?? ''
    const isGranted = choice === 'granted'
    const attributes = {
      signalbox_consent: choice,
      signalbox_consent_at: choice === '' ? '' : new Date().toISOString(),
      signalbox_fbp: isGranted ? readCookie('_fbp') : '',
      signalbox_fbc: isGranted ? readCookie('_fbc') : '',
    }
    fetch(`${Shopify.routes.root}cart/update.js`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ attributes }),
    })
  }

  document.addEventListener('visitorConsentCollected', noteConsent)
  Shopify.loadFeatures([{ name: 'consent-tracking-api', version: '0.1' }], error => {
    if (!error) noteConsent()
  })
})()
