// Asks a URL again and again over HTTP/2, as most programs in Go do: one client, no deadline, errors are tried again.
// Prints a line for each answer: the protocol and the body.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func ask(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.Proto + " " + strings.TrimSpace(string(body)), err
}

func main() {
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	for {
		answer, err := ask(client, os.Args[1])
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Println(answer)
		time.Sleep(50 * time.Millisecond)
	}
}
