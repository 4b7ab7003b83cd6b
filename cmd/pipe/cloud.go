//go:build cloud

package main

import _ "pipe/cloud" // object stores in paths, which double the size of the program
