// Package decide decides with a policy file: which expert answers, and with which advice.
package decide
