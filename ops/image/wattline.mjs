#!/usr/bin/node
await import('/opt/wattline/dist/src/cli.js');
