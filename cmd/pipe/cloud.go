//go:build cloud

package main

import _ "pipe/cloud" // object stores in paths: their drivers are large
