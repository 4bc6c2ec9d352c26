#!/usr/bin/node
import('/opt/wattline/dist/src/cli.js');
