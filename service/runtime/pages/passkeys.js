// Creates or uses the passkey of a form, and submits the form with the result. Runs in the browser.
//
// The form holds the options of the service as JSON. The result goes into its field `response`, so
// that the page needs no requests of its own. The form is hidden until this script has shown it.

const form = document.querySelector('form[data-passkey]')
const failure = document.querySelector('[data-passkey-failure]')
const unsupported = document.querySelector('[data-passkey-unsupported]')

if (form && globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  unsupported.hidden = true
  form.hidden = false
  form.addEventListener('submit', submitPasskey)
}

async function submitPasskey(event) {
  event.preventDefault()
  failure.hidden = true
  try {
    const credential = await requestCredential()
    form.elements.response.value = JSON.stringify(credential)
  } catch {
    failure.hidden = false
    failure.focus()
    return
  }
  form.submit()
}

function requestCredential() {
  const options = JSON.parse(form.dataset.options)
  if (form.dataset.passkey === 'create') {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
    return navigator.credentials.create({ publicKey })
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return navigator.credentials.get({ publicKey })
}
