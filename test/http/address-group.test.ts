import { expect, test } from 'vitest';
import { addressGroup } from '../../src/http/address-group.ts';

test('an IPv4 address is one caller in any spelling, and a /64 network of IPv6 is', () => {
  expect(addressGroup('192.0.2.1')).toBe('192.0.2.1');
  expect(addressGroup('::ffff:192.0.2.1')).toBe('192.0.2.1');
  expect(addressGroup('::FFFF:c000:201')).toBe('192.0.2.1');
  expect(addressGroup('0:0:0:0:0:ffff:192.0.2.1')).toBe('192.0.2.1');
  const network = addressGroup('2001:db8:1:2:3:4:5:6');
  expect(network).toBe('2001:db8:1:2::/64');
  expect(addressGroup('2001:db8:1:2::7')).toBe(network);
  expect(addressGroup('2001:0DB8:0001:0002:ffff::')).toBe(network);
  expect(addressGroup('2001:db8:1:3::7')).not.toBe(network);
  expect(addressGroup('2001:db8::7')).toBe('2001:db8:0:0::/64');
  expect(addressGroup('::1')).toBe('0:0:0:0::/64');
  expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  expect(addressGroup('fe80::1%eth0.100')).toBe('fe80:0:0:0::/64');
  expect(addressGroup('')).toBe('');
  expect(addressGroup('unknown')).toBe('unknown');
});
