package world

import (
	"fmt"
)

// The possible numbers of columns of the transaction file: all, or those before V1.
const (
	fraudAllColumns = 394
	fraudFewColumns = 55
)

// fraudTransactionHeader is the header of train_transaction.csv, or its first columns.
func fraudTransactionHeader(columns int) []string {
	h := []string{
		"TransactionID", "isFraud", "TransactionDT", "TransactionAmt", "ProductCD",
		"card1", "card2", "card3", "card4", "card5", "card6",
		"addr1", "addr2", "dist1", "dist2", "P_emaildomain", "R_emaildomain",
	}
	h = numbered(h, "C%d", 14)
	h = numbered(h, "D%d", 15)
	h = numbered(h, "M%d", 9)
	h = numbered(h, "V%d", 339)
	return h[:columns]
}

// fraudIdentityHeader is the header of train_identity.csv.
func fraudIdentityHeader() []string {
	return append(numbered([]string{"TransactionID"}, "id_%02d", 38), "DeviceType", "DeviceInfo")
}

func numbered(h []string, format string, n int) []string {
	for i := range n {
		h = append(h, fmt.Sprintf(format, i+1))
	}
	return h
}
