// Runs the steps in a .NET that Node hosts. Arguments: the folder of node-api-dotnet.
const path = require("path");
const dotnet = require(path.join(process.argv[2], "net8.0.js"));
dotnet.load(path.resolve("Steps.dll"));
const { Work } = dotnet.Steps;
Work.Run(1000);
console.log("steps " + Work.Taken);
if (process.argv[3] === "exit") process.exit(3);
