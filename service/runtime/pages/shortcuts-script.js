// Keyboard shortcuts of the approval pages: j and k move, a and r decide. Runs in the browser.
//
// The pages work without it. A letter does nothing while a field has the focus or with a modifier
// key, and a person can turn the shortcuts off (WCAG 2.2, 2.1.4), which this browser remembers.

const STORAGE_KEY = 'shortcuts'
const hint = document.querySelector('[data-shortcuts]')
const toggle = hint?.querySelector('button')
const items = [...document.querySelectorAll('[data-shortcut-item]')]
let isOn = readSetting() !== 'off'

if (hint && toggle) {
  hint.hidden = false
  showSetting()
  toggle.addEventListener('click', () => {
    isOn = !isOn
    storeSetting(isOn ? 'on' : 'off')
    showSetting()
  })
  document.addEventListener('keydown', handleKey)
}

function handleKey(event) {
  const { key, target, ctrlKey, metaKey, altKey, isComposing } = event
  if (!isOn || ctrlKey || metaKey || altKey || isComposing || event.repeat) return
  if (target.closest('textarea, select, [contenteditable], input:not([type=checkbox])')) return
  const act = {
    j: () => move(1),
    k: () => move(-1),
    a: () => decide('approve'),
    r: () => decide('reject'),
  }
  if (!Object.hasOwn(act, key)) return
  event.preventDefault()
  act[key]()
}

/** Focuses the control of the next item, or the item itself. */
function move(step) {
  if (items.length === 0) return
  const current = items.findIndex(item => item.contains(document.activeElement))
  const start = current === -1 && step < 0 ? 0 : current
  const item = items[Math.min(Math.max(start + step, 0), items.length - 1)]
  const control = item.querySelector('a.button, input:not([type=hidden])')
  if (!control) item.tabIndex = -1
  const focused = control ?? item
  focused.focus()
  item.scrollIntoView({ block: 'nearest' })
}

/** On a proposal, presses the button; in the list, opens the proposal that has the focus. */
function decide(decision) {
  const button = document.querySelector(`button[name=decision][value=${decision}]`)
  const reason = document.querySelector('#reason')
  if (button && !button.disabled) {
    if (reason?.value.trim() === '') reason.focus()
    else button.click()
    return
  }
  items
    .find(item => item.contains(document.activeElement))
    ?.querySelector('a.button')
    ?.click()
}

function showSetting() {
  hint.querySelector('span').hidden = !isOn
  toggle.textContent = isOn ? 'Turn off shortcuts' : 'Turn on keyboard shortcuts'
}

/** Storage can be blocked. */
function readSetting() {
  try {
    return localStorage.getItem(STORAGE_KEY)
  } catch {
    return null
  }
}

function storeSetting(value) {
  try {
    localStorage.setItem(STORAGE_KEY, value)
  } catch {
    // The setting then lasts as long as the page.
  }
}
