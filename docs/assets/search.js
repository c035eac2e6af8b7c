// The search appends a wildcard to each word, and rare words score higher: "add" finds "addcdiv" first.
// So each word is sent to its worker twice, once as it is, with more weight.
const QUERY = 2; // the type of the theme's messages that are queries
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === QUERY && typeof message.data === "string") {
    const exact = message.data.match(/(?<!\S)\w[\w.]*(?!\S)/g) ?? [];
    message = { ...message, data: [...exact.map((word) => `${word}^50`), message.data].join(" ") };
  }
  return post.call(this, message, ...rest);
};
