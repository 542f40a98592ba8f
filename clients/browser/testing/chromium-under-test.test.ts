import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newChromiumPage } from './chromium-page.ts'
import { findAccessibilityViolations } from './chromium-under-test.ts'

const PAGE = `<!doctype html>
<html lang="en">
  <title>Shop</title>
  <style>
    @media (prefers-color-scheme: dark) {
      p { color: #777; background: #666 }
    }
  </style>
  <main>
    <p>Gray on gray, in dark mode only.</p>
    FIELD
  </main>
</html>`

it('finds a faint text of dark mode, and a field without a name once', async test => {
  const page = await newChromiumPage(test)
  await page.setContent(PAGE.replace('FIELD', '<input type="text">'))
  const found = await findAccessibilityViolations(page)
  assert.deepEqual(
    found.map(line => line.split(':')[0]),
    ['blank light label', 'blank dark color-contrast'],
  )
  // In the same document, where axe-core is loaded already.
  await page.evaluate('document.querySelector("input").remove()')
  assert.equal((await findAccessibilityViolations(page)).length, 1)
})

it('finds nothing in an accessible page', async test => {
  const page = await newChromiumPage(test)
  const field = '<label>Email <input type="email"></label>'
  const readable = PAGE.replace('#777', '#fff').replace('FIELD', field)
  await page.setContent(readable)
  assert.deepEqual(await findAccessibilityViolations(page), [])
})
