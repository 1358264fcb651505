import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedTargets, isAllowedTarget, isPublicAddress, plainAddress } from './network-address.ts'

const CLOSED = `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 169.254.169.254
  172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
  224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1
  ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b::169.254.169.254 64:ff9b:1::7f00:1
  100::1 2001::1 2001:db8::1 2001:0:7f00:1:: 2002:7f00:1:: 2002:a00:1:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1
  fe80::1%eth0 fec0::1 ff02::1 ff0e::1`.split(/\s+/)

const OPEN = `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 93.184.216.34 100.63.255.255 100.128.0.1 128.0.0.1 169.253.255.255
  172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 198.17.255.255 198.20.0.1 223.255.255.255 ::ffff:8.8.8.8
  64:ff9b::8.8.8.8 64:ff9b::808:808 2606:4700:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888`.split(/\s+/)

test('what belongs to a machine, its neighbours or its owner is not public, however it is written', () => {
  assert.deepEqual(
    CLOSED.filter((address) => isPublicAddress(address)),
    [],
  )
  assert.deepEqual(
    OPEN.filter((address) => !isPublicAddress(address)),
    [],
  )
})

test('what is no address is not public', () => {
  for (const text of ['', 'localhost', '127.1', '0x7f000001', '1.2.3', '::g', '1.1.1.1/8']) {
    assert.equal(isPublicAddress(text), false, text)
  }
})

test('an address inside another is unwrapped', () => {
  assert.equal(plainAddress('::ffff:10.1.2.3'), '10.1.2.3')
  assert.equal(plainAddress('::ffff:a01:203'), '10.1.2.3')
  assert.equal(plainAddress('0:0:0:0:0:ffff:10.1.2.3'), '10.1.2.3')
  assert.equal(plainAddress('64:ff9b::a01:203'), '10.1.2.3')
  assert.equal(plainAddress('fe80::1%eth0'), 'fe80::1')
  assert.equal(plainAddress('2606:4700::1'), '2606:4700::1')
})

test('an operator allows networks, addresses and hosts, and nothing beside them', () => {
  const allowed = allowedTargets(['10.20.0.0/16', '192.168.1.5', 'fd00::/8', 'Hooks.Internal'])
  const may = (host: string, address: string) => isAllowedTarget(allowed, host, address)
  assert.ok(may('x', '10.20.3.4') && may('x', '192.168.1.5') && may('x', 'fd12::1') && may('x', '::ffff:10.20.0.1'))
  assert.ok(may('hooks.internal', '127.0.0.1') && may('HOOKS.internal.', '10.0.0.1'))
  assert.ok(!may('x', '10.21.0.1') && !may('x', '192.168.1.6') && !may('x', 'fe80::1') && !may('x', '127.0.0.1'))
  assert.ok(!may('evil-hooks.internal', '127.0.0.1') && !may('hooks.internal.evil', '127.0.0.1'))
})
